from app.controller.barred import Barred


class Time:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_pauses_double_up_to_half_a_minute_and_end_when_a_call_is_let_in() -> None:
    time = Time()
    barred = Barred(time)
    pauses = []
    for _ in range(8):
        assert barred.pause("x") is None
        pauses.append(barred.bar("x", "why"))
        time.now += pauses[-1]
    assert pauses == [1, 2, 4, 8, 16, 30, 30, 30]
    barred.lift("x")
    assert barred.bar("x", "why") == 1


def test_calls_that_are_refused_together_count_once_and_bar_no_other_namespace() -> None:
    time = Time()
    barred = Barred(time)
    assert barred.bar("x", "why") == 1
    time.now += 0.25
    assert barred.bar("x", "again") == 0.75
    assert barred.pause("x") == (0.75, "why")
    assert barred.pause("y") is None

"""Teams: who may submit what, into which queues, within which quota."""

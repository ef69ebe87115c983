"""Jobs: what a team submits, its states, its history."""

"""Speech: the sound of a recording, where somebody speaks in it, and what is said."""

"""Child processes that do the risky work, isolated and limited."""

"""Workers: processes on other machines that run attempts for the coordinator of a vault."""

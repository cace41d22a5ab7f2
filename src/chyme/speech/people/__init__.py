"""People who are heard in recordings, and the users' decisions about them."""

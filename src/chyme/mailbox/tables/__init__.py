"""SQL about the messages of the mailbox."""

"""A watched mailbox: messages of an IMAP folder, and their attachments, become files of the vault."""

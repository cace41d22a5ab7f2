"""Transcripts: cleanup, summary, subtitles."""

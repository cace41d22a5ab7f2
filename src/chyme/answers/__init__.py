"""Answers to questions in words: sentences, each with the places in files that it rests on."""

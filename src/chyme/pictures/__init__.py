"""Pictures: preview, words, objects, caption."""

"""Pictures as pixels: decoding, thumbnails, OCR."""

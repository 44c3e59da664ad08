"""Files on disk to uint8 batches."""

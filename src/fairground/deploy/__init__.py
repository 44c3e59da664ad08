"""A trained model put to use: exported, embedding, indexed and searched. One floor above training."""

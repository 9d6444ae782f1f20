"""The config of a study: its keys as types, the messages about wrong ones, and its file."""

"""The config of a study: types of its keys, messages about invalid keys, reading of files."""

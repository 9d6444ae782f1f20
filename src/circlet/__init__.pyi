from circlet.storage.results import load as load

__version__: str

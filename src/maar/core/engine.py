"""The engine every driver runs: events are fed to it and it decides."""

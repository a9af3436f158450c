"""What a configuration will cost, before anything runs; it stands over all stages, as `vocap.config` does."""

"""The forecast of a run: its jobs priced by a cost model, before anything runs."""

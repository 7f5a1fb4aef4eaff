"""Makes gates of what decides: one module for each kind of place, and what their arms do."""

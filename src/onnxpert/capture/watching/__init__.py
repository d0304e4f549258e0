"""An eager run of the user's model, watched: what it does beside computing, and at which of its lines.

`sightings` watches one call from all sides; the others each know one thing that may be seen there."""

//! What a controller is made of: wiring, caches, queue, apply, status, events.

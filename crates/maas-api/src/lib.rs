//! Models-as-a-Service's HTTP service and its key store.

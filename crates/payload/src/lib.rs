//! Request and response processing between a gateway and model providers.

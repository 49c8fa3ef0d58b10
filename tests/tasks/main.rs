//! Tasks that are served.

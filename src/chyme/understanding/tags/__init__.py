"""Tags: proposing them, reusing those of the vault, and people's decisions about them."""

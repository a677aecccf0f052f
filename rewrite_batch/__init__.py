"""The batch execution layer that rewrites household complaints kindly, in the recipient's language."""

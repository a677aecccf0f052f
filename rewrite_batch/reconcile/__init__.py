"""What an earlier run left between "about to" and "done". Used by submit and by collect."""

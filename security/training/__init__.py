"""Makes the weights of the injection model again from the corpus; not needed to run the bot."""

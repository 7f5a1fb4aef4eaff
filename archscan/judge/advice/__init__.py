"""What to do about a case: small rules in order, on words, names, images and the facts."""

"""A pretrained network on new data: features computed once, heads and last stages trained on them."""

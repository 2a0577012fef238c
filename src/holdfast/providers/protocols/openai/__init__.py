"""What the protocols of OpenAI share, and servers that speak them."""

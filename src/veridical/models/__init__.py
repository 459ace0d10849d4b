"""Adapters behind the ports: embedder, language models, judges, and the fakes that stand in for them in tests."""

from rewrite_batch.cli import main

main()

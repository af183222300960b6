tenure_part(TENURE_WITH_SQLITE "the store in SQLite and the fence for it" PACKAGES SQLite3)

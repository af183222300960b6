tenure_part(TENURE_WITH_POSTGRESQL_STORE "the store in PostgreSQL" PACKAGES PostgreSQL ROOMS names)

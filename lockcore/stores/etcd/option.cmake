tenure_part(TENURE_WITH_ETCD_STORE "the store in etcd" PACKAGES OpenSSL ROOMS names net)

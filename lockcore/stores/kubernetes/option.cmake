tenure_part(TENURE_WITH_KUBERNETES_STORE "the store in Kubernetes" PACKAGES OpenSSL ROOMS names net kubernetes)

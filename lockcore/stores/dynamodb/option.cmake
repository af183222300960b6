tenure_part(TENURE_WITH_DYNAMODB "the store in DynamoDB and the fences for it and for S3" PACKAGES OpenSSL ROOMS names net aws)

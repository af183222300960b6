module tenure.tests/golden

go 1.26.0

require (
	cirello.io/dynamolock/v5 v5.0.0
	github.com/aws/aws-sdk-go-v2 v1.43.6
	github.com/aws/aws-sdk-go-v2/credentials v1.19.36
	github.com/aws/aws-sdk-go-v2/service/dynamodb v1.63.3
)

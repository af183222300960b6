// Leaves one row of each kind that cirello.io/dynamolock writes in a table.
package main

import (
	"context"
	"log"
	"os"
	"time"

	"cirello.io/dynamolock/v5"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func main() {
	endpoint, table := os.Args[1], os.Args[2]
	ctx := context.Background()
	db := dynamodb.New(dynamodb.Options{
		Region:       "us-east-1",
		BaseEndpoint: aws.String(endpoint),
		Credentials:  credentials.NewStaticCredentialsProvider("tenuretest", "tenuretest", ""),
	})
	client, err := dynamolock.New(db, table, dynamolock.WithLeaseDuration(90*time.Second))
	check(err)
	_, err = client.CreateTable(ctx, table)
	check(err)
	check(dynamodb.NewTableExistsWaiter(db).Wait(ctx, &dynamodb.DescribeTableInput{TableName: &table}, time.Minute))
	full := []dynamolock.AcquireLockOption{
		dynamolock.WithData([]byte("payload\x00\u00e9")),
		dynamolock.WithAdditionalAttributes(map[string]types.AttributeValue{
			"note": &types.AttributeValueMemberS{Value: "extra"}}),
	}
	for name, options := range map[string][]dynamolock.AcquireLockOption{
		"held": nil, "released": nil, "held-full": full, "released-full": full} {
		lock, err := client.AcquireLock(ctx, name, options...)
		check(err)
		if name == "released" || name == "released-full" {
			_, err = client.ReleaseLock(ctx, lock)
			check(err)
		}
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

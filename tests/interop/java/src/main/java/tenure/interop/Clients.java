package tenure.interop;

import com.amazonaws.services.dynamodbv2.AmazonDynamoDBLockClient;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDBLockClientOptions;
import com.amazonaws.services.dynamodbv2.CreateDynamoDBTableOptions;
import java.net.URI;
import java.util.concurrent.TimeUnit;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.ProvisionedThroughput;
import software.amazon.awssdk.services.dynamodb.model.ResourceInUseException;

/** Clients for a server on this machine. */
final class Clients {
    private Clients() {}

    static DynamoDbClient dynamo(String endpoint) {
        return DynamoDbClient.builder()
            .endpointOverride(URI.create(endpoint))
            .region(Region.US_EAST_1)
            .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create("tenuretest", "tenuretest")))
            .build();
    }

    /** The lock client as its users would make it: everything but the times is its default. */
    static AmazonDynamoDBLockClientOptions.AmazonDynamoDBLockClientOptionsBuilder options(
            DynamoDbClient dynamo, String table, String owner, long leaseMs, long heartbeatMs) {
        return AmazonDynamoDBLockClientOptions.builder(dynamo, table).withOwnerName(owner)
            .withTimeUnit(TimeUnit.MILLISECONDS).withLeaseDuration(leaseMs).withHeartbeatPeriod(heartbeatMs)
            .withCreateHeartbeatBackgroundThread(true);
    }

    /** A lock table as the library itself makes it; sortKey may be null. */
    static void ensureTable(DynamoDbClient dynamo, String table, String sortKey) {
        try {
            var throughput = ProvisionedThroughput.builder().readCapacityUnits(100L).writeCapacityUnits(100L).build();
            var options = CreateDynamoDBTableOptions.builder(dynamo, throughput, table);
            if (sortKey != null) options.withSortKeyName(sortKey);
            AmazonDynamoDBLockClient.createLockTableInDynamoDB(options.build());
        } catch (ResourceInUseException exists) {
            return;
        }
        dynamo.waiter().waitUntilTableExists(r -> r.tableName(table));
    }
}

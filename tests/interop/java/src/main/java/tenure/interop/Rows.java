package tenure.interop;

import com.amazonaws.services.dynamodbv2.AcquireLockOptions;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDBLockClient;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDBLockClientOptions;
import com.amazonaws.services.dynamodbv2.LockItem;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;

/**
 * Leaves one row of each kind that the library writes: "held" and "released", and both "-full", that is with data and
 * additional attributes, which has one heartbeat, too. Prints the name of each.
 */
final class Rows {
    private Rows() {}

    static void run(String[] a) throws Exception {
        var dynamo = Clients.dynamo(a[0]);
        String sortKey = a.length > 2 ? a[2] : null;
        Clients.ensureTable(dynamo, a[1], sortKey);
        // The library's default owner (host name and UUID) and its default lease of 20 s.
        var options = AmazonDynamoDBLockClientOptions.builder(dynamo, a[1])
            .withCreateHeartbeatBackgroundThread(false);
        if (sortKey != null) options.withSortKeyName(sortKey);
        AmazonDynamoDBLockClient client = new AmazonDynamoDBLockClient(options.build());
        for (boolean full : new boolean[] {false, true}) {
            for (boolean release : new boolean[] {false, true}) {
                String key = (release ? "released" : "held") + (full ? "-full" : "");
                LockItem lock = client.acquireLock(request(key, sortKey, full));
                if (full) client.sendHeartbeat(lock);
                boolean released = release && client.releaseLock(lock);
                if (released != release) throw new IllegalStateException(key + " was not released");
                Json.line(new TreeMap<>(Map.of("row", key)));
            }
        }
        // Closing the client would release what shall stay held.
    }

    private static AcquireLockOptions request(String key, String sortKey, boolean full) {
        var options = AcquireLockOptions.builder(key).withDeleteLockOnRelease(false);
        if (sortKey != null) options.withSortKey("s1");
        if (full) {
            options.withData(ByteBuffer.wrap("payload\0\u00e9".getBytes(StandardCharsets.UTF_8)));
            options.withAdditionalAttributes(Map.of(
                "note", AttributeValue.fromS("extra"),
                "count", AttributeValue.fromN("7"),
                "list", AttributeValue.fromL(List.of(AttributeValue.fromBool(true), AttributeValue.fromNul(true)))));
        }
        return options.build();
    }
}

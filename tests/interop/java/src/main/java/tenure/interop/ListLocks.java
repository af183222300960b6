package tenure.interop;

import com.amazonaws.services.dynamodbv2.AmazonDynamoDBLockClient;
import com.amazonaws.services.dynamodbv2.LockItem;
import java.util.LinkedHashMap;
import java.util.Map;

/** Prints every lock of a table as getAllLocksFromDynamoDB gives it; a row that it cannot read ends it with an error. */
final class ListLocks {
    private ListLocks() {}

    static void run(String[] a) throws Exception {
        var client = new AmazonDynamoDBLockClient(Clients.options(Clients.dynamo(a[0]), a[1], "list", 10_000, 1_000)
            .withCreateHeartbeatBackgroundThread(false).build());
        client.getAllLocksFromDynamoDB(false).forEach(ListLocks::print);
    }

    private static void print(LockItem lock) {
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("key", lock.getPartitionKey());
        fields.put("owner", lock.getOwnerName());
        fields.put("lease_ms", lock.getLeaseDuration());
        fields.put("rvn", lock.getRecordVersionNumber());
        fields.put("expired", lock.isExpired()); // for a released lock, too
        fields.put("data_bytes", lock.getData().map(data -> (Object) data.remaining()).orElse(null));
        fields.put("additional", String.join(" ", new java.util.TreeSet<>(lock.getAdditionalAttributes().keySet())));
        Json.line(fields);
    }
}

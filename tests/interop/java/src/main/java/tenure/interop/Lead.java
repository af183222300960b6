package tenure.interop;

import com.amazonaws.services.dynamodbv2.AcquireLockOptions;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDBLockClient;
import com.amazonaws.services.dynamodbv2.LockItem;
import com.amazonaws.services.dynamodbv2.model.LockNotGrantedException;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import software.amazon.awssdk.core.exception.SdkException;

/**
 * Wants one lock for ever and takes it again whenever it was lost. Events as of Hold: "acquired", and "expired" when the
 * library itself says that the lock is not held any more, which is asked every 5 ms.
 */
final class Lead {
    private Lead() {}

    static void run(String[] a) throws Exception {
        var dynamo = Clients.dynamo(a[0]);
        while (true) {
            // A client of its own for each term: one that has lost a lock goes on with what it remembers of it.
            var client = new AmazonDynamoDBLockClient(
                Clients.options(dynamo, a[1], a[3], Long.parseLong(a[4]), Long.parseLong(a[5])).build());
            var wish = AcquireLockOptions.builder(a[2]).withTimeUnit(TimeUnit.MILLISECONDS).withRefreshPeriod(100L).build();
            LockItem lock = null;
            while (lock == null) {
                try {
                    lock = client.acquireLock(wish);
                } catch (LockNotGrantedException | SdkException again) {
                    Hold.event("not_granted", Map.of("message", String.valueOf(again.getMessage())));
                }
            }
            Hold.event("acquired", Map.of("rvn", lock.getRecordVersionNumber()));
            while (!lock.isExpired()) Thread.sleep(5);
            Hold.event("expired", Map.of("rvn", lock.getRecordVersionNumber()));
            end(client);
        }
    }

    /** Beside the next term: it waits for requests under way and releases what it believes to hold. */
    private static void end(AmazonDynamoDBLockClient client) {
        Thread end = new Thread(() -> {
            try {
                client.close();
            } catch (Exception error) {
                Hold.event("error", Map.of("message", String.valueOf(error)));
            }
        });
        end.setDaemon(true);
        end.start();
    }
}

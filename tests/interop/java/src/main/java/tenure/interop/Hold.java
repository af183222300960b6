package tenure.interop;

import com.amazonaws.services.dynamodbv2.AcquireLockOptions;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDBLockClient;
import com.amazonaws.services.dynamodbv2.LockItem;
import com.amazonaws.services.dynamodbv2.model.LockNotGrantedException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Acquires one lock and holds it until stdin closes, then releases it. One line per event; "t" is CLOCK_MONOTONIC in
 * nanoseconds, "lookup_ms" the instant from which the library counts the lease, on the same clock.
 * System properties: delete, whether the release deletes the row, as is the library's default (true); sortKey and
 * sortValue, the name of the table's sort key and this lock's value in it (none).
 */
final class Hold {
    private Hold() {}

    static void run(String[] a) throws Exception {
        var dynamo = Clients.dynamo(a[0]);
        String sortKey = System.getProperty("sortKey");
        Clients.ensureTable(dynamo, a[1], sortKey);
        var settings = Clients.options(dynamo, a[1], a[3], Long.parseLong(a[4]), Long.parseLong(a[5]));
        if (sortKey != null) settings.withSortKeyName(sortKey);
        var client = new AmazonDynamoDBLockClient(settings.build());
        var wish = AcquireLockOptions.builder(a[2]).withTimeUnit(TimeUnit.MILLISECONDS).withRefreshPeriod(100L)
            .withDeleteLockOnRelease(Boolean.parseBoolean(System.getProperty("delete", "true")));
        if (sortKey != null) wish.withSortKey(System.getProperty("sortValue"));
        var options = wish.build();
        event("waiting", Map.of());
        LockItem lock = null;
        while (lock == null) {
            try {
                lock = client.acquireLock(options);
            } catch (LockNotGrantedException again) {
                event("not_granted", Map.of("message", String.valueOf(again.getMessage())));
            }
        }
        event("acquired", state(lock));
        Thread watch = new Thread(new Watch(lock));
        watch.setDaemon(true);
        watch.start();
        while (System.in.read() >= 0) { }
        event("releasing", Map.of());
        event("released", Map.of("done", client.releaseLock(lock)));
    }

    static void event(String what, Map<String, ?> more) {
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("t", System.nanoTime());
        fields.put("e", what);
        fields.putAll(more);
        Json.line(fields);
    }

    private static Map<String, ?> state(LockItem lock) {
        return Map.of("rvn", lock.getRecordVersionNumber(), "lookup_ms", lock.getLookupTime(), "lease_ms",
            lock.getLeaseDuration());
    }

    /** Looks once in 5 ms for a heartbeat that went through and for isExpired() turning. */
    private record Watch(LockItem lock) implements Runnable {
        @Override
        public void run() {
            long seen = lock.getLookupTime();
            boolean expired = false;
            while (true) {
                if (lock.isExpired() != expired) {
                    expired = !expired;
                    event(expired ? "expired" : "unexpired", state(lock));
                }
                if (lock.getLookupTime() != seen) {
                    seen = lock.getLookupTime();
                    event("heartbeat", state(lock));
                }
                try {
                    Thread.sleep(5);
                } catch (InterruptedException stop) {
                    return;
                }
            }
        }
    }
}

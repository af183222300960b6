// The section `store` with type postgresql: each key has its field, and nothing in it tells a secret.
#include <functional>
#include <map>

#include <gtest/gtest.h>

#include "config/src/store_types.hpp"
#include "config/store_section.hpp"

namespace tenure {
namespace {

using Options = PostgresqlStoreOptions;

const test::StoreSection<Options> postgresqlSection{"postgresql"};

TEST(PostgresqlSection, EachKeyOfTextHasItsField) {
  const std::map<std::string, std::string Options::*> fields{
      {"connection", &Options::connection},
      {"host", &Options::host},
      {"port", &Options::port},
      {"database", &Options::database},
      {"user", &Options::user},
      {"passfile", &Options::passfile},
      {"password_file", &Options::passwordFile},
      {"service", &Options::service},
      {"sslmode", &Options::sslMode},
      {"sslrootcert", &Options::sslRootCertificate},
      {"sslcert", &Options::sslCertificate},
      {"sslkey", &Options::sslKey},
      {"schema", &Options::schema},
      {"table", &Options::table},
      {"listen", &Options::listen},
      {"liveness_dir", &Options::livenessDirectory},
  };
  const std::map<std::string, std::string> others{
      {"connection", "dbname=jobs"}, {"listen", "host=db1"}, {"port", "6432"}, {"sslmode", "require"}};
  std::size_t keys = 0;
  for (const ConfigKey& key : configKeys()) keys += key.storeType == "postgresql" ? 1U : 0U;
  EXPECT_EQ(keys, fields.size() + 1) << "synchronous_commit is the other one";
  for (const auto& [name, field] : fields) {
    const auto other = others.find(name);
    // A certificate and its key come together.
    const std::string beside = name == "sslcert" ? "  sslkey: ./k\n" : name == "sslkey" ? "  sslcert: ./c\n" : "";
    const std::string value = other == others.end() ? "name_of_its_own" : other->second;
    Options expected;
    expected.*field = value;
    if (name == "sslcert") expected.sslKey = "./k";
    if (name == "sslkey") expected.sslCertificate = "./c";
    std::string line = "  ";
    line.append(name).append(": \"").append(value).append("\"\n").append(beside);
    EXPECT_EQ(postgresqlSection.optionsOf(line), expected) << name;
  }
}

TEST(PostgresqlSection, ASecondPlaceOfThePasswordIsRefusedByItsKey) {
  const std::string both = ", and a password file is given (store.password_file); give one of them";
  EXPECT_EQ(postgresqlSection.faultsIn("  password_file: ./pw\n  passfile: ./pgpass\n"),
            "group.yaml:5:13: store.passfile: is given" + both);
  EXPECT_EQ(postgresqlSection.faultsIn("  password_file: ./pw\n  connection: host=db1 passfile=/pgpass\n"),
            "group.yaml:5:15: store.connection: has a passfile" + both);
  EXPECT_EQ(postgresqlSection.faultsIn("  password_file: ./pw\n  listen: host=db1 passfile=/pgpass\n"),
            "group.yaml:5:11: store.listen: has a passfile" + both);
  EXPECT_EQ(
      postgresqlSection.faultsIn("  password_file: ./pw\n  connection: postgresql://u:s3same@db1/jobs\n"),
      "group.yaml:5:15: store.connection: contains a password, which others could read in logs and process lists; "
      "put it into a file (store.password_file or store.passfile), a service file or PGPASSWORD");
}

TEST(PostgresqlSection, NothingIsRequired) { EXPECT_EQ(postgresqlSection.optionsOf(""), Options{}); }

TEST(PostgresqlSection, EachCommitModeHasPostgresqlsName) {
  EXPECT_EQ(postgresqlSection.optionsOf("  synchronous_commit: on\n").commit, PostgresqlCommit::on);
  EXPECT_EQ(postgresqlSection.optionsOf("  synchronous_commit: remote_apply\n").commit, PostgresqlCommit::remoteApply);
  EXPECT_EQ(postgresqlSection.optionsOf("  synchronous_commit: remote_write\n").commit, PostgresqlCommit::remoteWrite);
  EXPECT_EQ(postgresqlSection.optionsOf("  synchronous_commit: local\n").commit, PostgresqlCommit::local);
}

TEST(PostgresqlSection, ACommitThatIsNotDurableIsRefusedWithTheReason) {
  EXPECT_EQ(postgresqlSection.faultsIn("  synchronous_commit: \"off\"\n"),
            "group.yaml:4:23: store.synchronous_commit: \"off\" is not allowed, because a crash of the server would "
            "undo terms that were answered; allowed is on, remote_apply, remote_write or local");
  EXPECT_EQ(postgresqlSection.faultsIn("  synchronous_commit: remote_aply\n"),
            "group.yaml:4:23: store.synchronous_commit: \"remote_aply\" is not allowed; allowed is on, remote_apply, "
            "remote_write or local; did you mean \"remote_apply\"?");
}

TEST(PostgresqlSection, RelativePathsStartAtTheDirectoryOfTheFile) {
  const test::TempDir directory;
  const Options options = postgresqlSection.optionsIn(directory,
                                                      "  passfile: ./pgpass\n  sslrootcert: ca/../db.pem\n  sslcert: "
                                                      "/etc/c.crt\n  sslkey: c.key\n  liveness_dir: run\n");
  const std::string base = directory.path().string();
  EXPECT_EQ(options.passfile, base + "/pgpass");
  EXPECT_EQ(options.sslRootCertificate, base + "/db.pem");
  EXPECT_EQ(options.sslCertificate, "/etc/c.crt");
  EXPECT_EQ(options.sslKey, base + "/c.key");
  EXPECT_EQ(options.livenessDirectory, base + "/run");
  EXPECT_EQ(options.host, "");
  EXPECT_EQ(postgresqlSection.optionsIn(directory, "  password_file: secrets/pw\n").passwordFile, base + "/secrets/pw");
}

TEST(PostgresqlSection, VariablesAreExpanded) {
  const VariableSource variables = [](const std::string& name) {
    return name == "DB_HOST" ? std::optional<std::string>{"db7"} : std::nullopt;
  };
  const Options options = postgresqlSection.optionsOf(
      "  connection: \"postgresql://scheduler@${DB_HOST}/jobs\"\n  port: \"${DB_PORT:-6432}\"\n", variables);
  EXPECT_EQ(options.connection, "postgresql://scheduler@db7/jobs");
  EXPECT_EQ(options.port, "6432");
}

TEST(PostgresqlSection, EffectiveYamlLoadsAsTheSameConfig) {
  Options all{.connection = "host=db1 dbname=jobs", .host = "db1,db2", .port = "5432,6432"};
  all.database = "jobs";
  all.user = "scheduler: $1";
  all.passfile = "/etc/pgpass";
  all.service = "primary";
  all.sslMode = "verify-ca";
  all.sslRootCertificate = "/etc/ca.pem";
  all.sslCertificate = "/etc/c.crt";
  all.sslKey = "/etc/c.key";
  all.schema = "Locks";
  all.table = "lease table";
  all.commit = PostgresqlCommit::remoteApply;
  all.listen = "host=db1";
  all.livenessDirectory = "/run/tenure";
  postgresqlSection.expectTheSameFromEffectiveYaml({Options{}, all, Options{.passwordFile = "/run/secrets/db"}});
}

TEST(PostgresqlSection, ThePageOfInitLoads) {
  EXPECT_EQ(postgresqlSection.ofSample().connection, "postgresql://scheduler@db1.example.org/jobs");
}

TEST(PostgresqlSection, ItsKeysAreRefusedInAnotherStore) {
  const auto config = loadGroupConfigFromText("group: g\nstore: { type: memory, sslmode: require }\n", "group.yaml");
  ASSERT_FALSE(config);
  EXPECT_EQ(toString(config.error()),
            "group.yaml:2:24: store.sslmode: belongs to store.type postgresql, not to memory; remove it or change the "
            "type");
}

TEST(PostgresqlSection, TheTableIsAKeyOfTwoStoresWithAMeaningInEach) {
  const auto there = loadGroupConfigFromText("group: g\nstore: { type: dynamodb, table: leases }\n", "group.yaml");
  ASSERT_TRUE(there) << toString(there.error());
  EXPECT_EQ(std::get<DynamoDbStoreOptions>(there->store).table, "leases");
  EXPECT_EQ(postgresqlSection.optionsOf("  table: leases\n").table, "leases");
}

TEST(PostgresqlSection, SqlIsThatOfTheOptionsAndOfTheRoleThatIsKnown) {
  Options options{.schema = "locks", .table = "leases"};
  const StoreConfig config{options};
  const auto& type = config::typeOf(config);
  ASSERT_TRUE(type.schemaSql);
  EXPECT_EQ(type.schemaSql(options, "app"), postgresqlSchemaSql(options, "app"));
  EXPECT_EQ(type.schemaSql(options, ""), postgresqlSchemaSql(options, ""));
  options.user = "scheduler";
  EXPECT_EQ(type.schemaSql(options, ""), postgresqlSchemaSql(options, "scheduler"));
  EXPECT_FALSE(config::typeOf(StoreConfig{MemoryStoreOptions{}}).schemaSql);
}

}  // namespace
}  // namespace tenure

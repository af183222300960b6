// Lease names: structured, compared exactly, any text. And listing them.
#include <algorithm>

#include "contract/store_contract.hpp"
#include "lockcore/port/stored_key.hpp"

namespace tenure::contract {
namespace {

/// Names that go wrong in a store that builds strings, patterns, paths or SQL from them.
std::vector<LeaseKey> oddKeys() {
  return {{"plain"},
          {"Plain"},
          {"PLAIN"},
          {"plain "},
          {" plain"},
          {"ab", "c"},
          {"a", "bc"},
          {"a/b", "c"},
          {"a", "b/c"},
          {"a#b", "c"},
          {"a", "b#c"},
          {"abc"},
          {"a", " "},
          {"it's"},
          {"\"quoted\""},
          {"back\\slash"},
          {"new\nline", "and\r\ntab\t"},
          {"100%"},
          {"100_"},
          {"1000"},
          {"1e3"},
          {"01000"},
          {"null"},
          {"#"},
          {"a#fence#b"},
          {"../../etc/passwd"},
          {"*"},
          {"?[a-z]"},
          {"'; DROP TABLE leases; --"},
          {"\xC3\xA9"},   // e acute, composed
          {"e\xCC\x81"},  // the same letter, decomposed
          {"кириллица", "値"},
          {"😀", "😀😀"},
          {"\x01\x7F"},
          {"\xF4\x8F\xBF\xBF"},  // U+10FFFF
          {std::string(maxLeaseNameBytes, 'n'), std::string(maxSortKeyBytes, 's')}};
}

}  // namespace

TEST_P(StoreContract, keepsKeysApartThatOneSpellingWouldMix) {
  const LeaseKey first{"ab", "c"};
  const LeaseKey second{"a", "bc"};
  store().apply(acquire(first, "one"));
  other().apply(acquire(second, "two"));
  EXPECT_EQ(store().record(first).holder, "one");
  EXPECT_EQ(store().record(second).holder, "two");
  store().apply(release(first, "one", {store().record(first).version}));
  EXPECT_FALSE(other().record(second).released);
}

TEST_P(StoreContract, servesOddNamesExactly) {
  const std::vector<LeaseKey> keys = oddKeys();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ASSERT_TRUE(faultsOfStored(keys[i]).empty()) << toString(keys[i]);
    store().apply(acquire(keys[i], "holder-" + std::to_string(i)));
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const LeaseRecord record = other().record(keys[i]);
    EXPECT_EQ(record.holder, "holder-" + std::to_string(i)) << toString(keys[i]);
    const std::vector<LeaseKey> listed = store().listKeys(keys[i].name);
    EXPECT_EQ(std::count(listed.begin(), listed.end(), keys[i]), 1) << toString(keys[i]);
  }
  std::vector<LeaseKey> all = keys;
  std::sort(all.begin(), all.end());
  EXPECT_EQ(store().listKeys(""), all) << "in key order, each once, and nothing else (no counters)";
}

TEST_P(StoreContract, listsByPrefixInKeyOrder) {
  for (const char* name : {"b", "ab", "a", "abc", "aB", "a%", "a_", "ac"}) {
    store().apply(acquire({name, "2"}, "x"));
    store().apply(acquire({name, "10"}, "x"));
    store().apply(acquire({name}, "x"));
  }
  using Keys = std::vector<LeaseKey>;
  EXPECT_EQ(store().listKeys("ab"), (Keys{{"ab"}, {"ab", "10"}, {"ab", "2"}, {"abc"}, {"abc", "10"}, {"abc", "2"}}));
  EXPECT_EQ(store().listKeys("abc"), (Keys{{"abc"}, {"abc", "10"}, {"abc", "2"}}));
  EXPECT_EQ(store().listKeys("a%"), (Keys{{"a%"}, {"a%", "10"}, {"a%", "2"}})) << "the prefix is no pattern";
  EXPECT_EQ(store().listKeys("a_"), (Keys{{"a_"}, {"a_", "10"}, {"a_", "2"}}));
  EXPECT_EQ(store().listKeys("A"), Keys{});
  EXPECT_EQ(store().listKeys("ab "), Keys{});
  EXPECT_EQ(store().listKeys("abcd"), Keys{});
  EXPECT_EQ(other().listKeys("").size(), 24U);
}

TEST_P(StoreContract, listsTheRecordsThatAReadWouldGive) {
  for (int i = 0; i < 5; ++i) {
    WriteRequest request = acquire({"lease-" + std::to_string(i)}, "a");
    request.record.data = "data";
    request.record.attributes = {{"n", std::to_string(i)}};
    store().apply(std::move(request));
  }
  store().apply(release({"lease-3"}, "a", {store().record({"lease-3"}).version}));
  const std::vector<ListedLease> listed = other().list("lease-");
  ASSERT_EQ(listed.size(), 5U);
  for (const ListedLease& lease : listed) {
    ASSERT_TRUE(lease.record.has_value());
    EXPECT_TRUE(sameRecord(*lease.record, store().record(lease.key)));
  }
}

TEST_P(StoreContract, listsTheLeasesOfOneNameAndNoOthers) {
  const std::vector<LeaseKey> ofGroup{{"g"}, {"g", "0"}, {"g", "10"}, {"g", "2"}, {"g", "member/0"}, {"g", "süd"}};
  for (const LeaseKey& key : ofGroup) store().apply(acquire(key, "x"));
  for (const LeaseKey& key :
       std::vector<LeaseKey>{{"G", "0"}, {"f", "g"}, {"g "}, {"g/0"}, {"g/0", "0"}, {"gg", "0"}}) {
    store().apply(acquire(key, "other"));
  }
  store().apply(release(ofGroup[2], "x", {store().record(ofGroup[2]).version}));
  const std::vector<ListedLease> listed = other().listName("g");
  ASSERT_EQ(listed.size(), ofGroup.size());
  for (std::size_t i = 0; i < listed.size(); ++i) {
    EXPECT_EQ(listed[i].key, ofGroup[i]) << "in key order";
    EXPECT_TRUE(sameRecord(listed[i].record.value(), store().record(ofGroup[i])));
  }
  EXPECT_TRUE(other().listName("nobody").empty());
  EXPECT_EQ(other().listName("g/0").size(), 2U);
}

TEST_P(StoreContract, tellsOfOneNameWhatItTellsOfAPrefix) {
  for (const LeaseKey& key : oddKeys()) store().apply(acquire(key, "a"));
  for (const LeaseKey& key : oddKeys()) {
    const std::vector<ListedLease> listed = other().listName(key.name);
    EXPECT_EQ(std::count_if(listed.begin(), listed.end(), [&](const ListedLease& one) { return one.key == key; }), 1)
        << toString(key);
    EXPECT_TRUE(std::all_of(listed.begin(), listed.end(), [&](const auto& one) { return one.key.name == key.name; }));
  }
}

/// More than a page of any store: 1.2 MB.
TEST_P(StoreContract, listsManyLeasesOfOneName) {
  constexpr int many = 600;
  for (int i = 0; i < many; ++i) {
    WriteRequest request = acquire({"g", std::to_string(10'000 + i)}, "x");
    request.record.data = std::string(2'000, 'd');
    store().apply(std::move(request));
  }
  const std::vector<ListedLease> listed = other().listName("g");
  ASSERT_EQ(listed.size(), std::size_t{many});
  for (int i = 0; i < many; ++i) EXPECT_EQ(listed[static_cast<std::size_t>(i)].key.sortKey, std::to_string(10'000 + i));
}

TEST_P(StoreContract, pagesShowEachLeaseOnceAndAreWhatAListingShows) {
  for (const LeaseKey& key : oddKeys()) store().apply(acquire(key, "a"));
  for (const std::string prefix : {"", "a", "none"}) {
    std::vector<ListedLease> paged;
    for (ListPage& page : other().listPages(prefix)) {
      std::move(page.leases.begin(), page.leases.end(), std::back_inserter(paged));
    }
    std::sort(paged.begin(), paged.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
    const std::vector<ListedLease> listed = other().list(prefix);
    ASSERT_EQ(paged.size(), listed.size()) << prefix;
    for (std::size_t i = 0; i < listed.size(); ++i) {
      EXPECT_EQ(paged[i].key, listed[i].key);
      EXPECT_TRUE(sameRecord(*paged[i].record, *listed[i].record));
    }
  }
}

TEST_P(StoreContract, refusesBadNamesInEveryCall) {
  const std::vector<LeaseKey> bad{{""},
                                  {" \t"},
                                  {"lease#fence"},
                                  {std::string{"nul\0in", 6}},
                                  {"not UTF-8 \xC0\x80"},
                                  {"fine", "\xED\xA0\x80"},
                                  {std::string(maxLeaseNameBytes + 1, 'n')},
                                  {"fine", std::string(maxSortKeyBytes + 1, 's')}};
  for (const LeaseKey& key : bad) {
    SCOPED_TRACE(toString(key).substr(0, 60));
    const ReadOutcome read = store().startRead(key)->get();
    ASSERT_TRUE(read.has_error());
    EXPECT_EQ(read.error().errorClass, ErrorClass::misconfigured);
    const RecordVersion version = newVersion();
    for (const WriteOutcome& outcome :
         {store().write(acquire(key, "a")), store().write(renew(key, "a", {version})),
          store().write(release(key, "a", {version})), store().requestStepDown(key, FencingToken{1})}) {
      const auto* rejected = std::get_if<Rejected>(&outcome);
      ASSERT_NE(rejected, nullptr) << describe(outcome);
      EXPECT_EQ(rejected->error.errorClass, ErrorClass::misconfigured);
    }
  }
  EXPECT_TRUE(store().list("").empty());
}

}  // namespace tenure::contract

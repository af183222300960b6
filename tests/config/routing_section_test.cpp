// The section `routing`: for the Kubernetes store alone, and its values.
#include <string>

#include <gtest/gtest.h>

#include <tenure/config/load_group.hpp>

namespace tenure {
namespace {

const std::string routed =
    "group: g\nstore: { type: kubernetes }\nrouting: { pod: scheduler-0, selector: \"app=scheduler,tier!=test\" }\n";

boost::system::result<GroupConfig, ConfigFaults> load(const std::string& text) {
  return loadGroupConfigFromText(text, "group.yaml", [](const std::string& name) -> std::optional<std::string> {
    if (name == "POD_NAME") return "scheduler-1";
    return std::nullopt;
  });
}

std::string wrongIn(const std::string& text) {
  const auto config = load(text);
  return config ? std::string{} : toString(config.error());
}

std::string withRouting(const std::string& keys) {
  return "group: g\nstore: { type: kubernetes }\nrouting: { " + keys + " }\n";
}

TEST(RoutingSection, IsRead) {
  EXPECT_EQ(load(routed)->routing, (RoutingConfig{"scheduler-0", "app=scheduler,tier!=test"}));
  EXPECT_EQ(load(withRouting("pod: \"${POD_NAME}\", selector: a=b"))->routing.pod, "scheduler-1");
  EXPECT_TRUE(load("group: g\nstore: { type: kubernetes }\n")->routing.isNone());
}

TEST(RoutingSection, ReadsBackFromTheEffectiveText) {
  const auto config = load(routed);
  const std::string text = effectiveYaml(*config);
  EXPECT_NE(text.find("routing:\n  pod: scheduler-0\n  selector: "), std::string::npos) << text;
  EXPECT_EQ(load(text).value(), *config);
}

TEST(RoutingSection, IsRefusedWithOtherStores) {
  EXPECT_EQ(wrongIn("group: g\nstore: { type: memory }\nrouting: { pod: a, selector: a=b }\n"),
            "group.yaml:3:1: routing: belongs to store.type kubernetes, not to memory; remove it or change the type");
  EXPECT_EQ(wrongIn("group: g\nstore: { type: kubernets }\nrouting: { pod: a, selector: a=b }\n").find("routing"),
            std::string::npos)
      << "the type is not known";
}

TEST(RoutingSection, IsRefusedWithShards) {
  EXPECT_NE(wrongIn(routed + "shards: { count: 2 }\n")
                .find("group.yaml:3:1: routing: cannot be given in a group with "
                      "shards"),
            std::string::npos);
}

TEST(RoutingSection, WrongValuesAreToldWithTheirPlace) {
  const std::string both = wrongIn(withRouting("pod: Scheduler_0, selector: app"));
  EXPECT_NE(both.find("group.yaml:3:17: routing.pod: \"Scheduler_0\" is not a pod name"), std::string::npos) << both;
  EXPECT_NE(both.find("group.yaml:3:40: routing.selector: \"app\" is not a selector by equality"), std::string::npos)
      << both;
  EXPECT_NE(wrongIn(withRouting("pod: a, selector: \"a in (b)\"")).find("is not a selector by equality"),
            std::string::npos);
  EXPECT_NE(wrongIn(withRouting("pod: a, selector: \"a=b,tenure.dev/role=leader\"")).find("has tenure.dev/role"),
            std::string::npos);
  EXPECT_EQ(wrongIn(withRouting("pod: a")),
            "group.yaml:3:10: routing.selector: is missing; give it, such as selector: app=scheduler");
  EXPECT_EQ(wrongIn(withRouting("selector: a=b")),
            "group.yaml:3:10: routing.pod: is missing; give it, such as pod: \"${POD_NAME}\"");
  EXPECT_NE(wrongIn("group: g\nstore: { type: kubernetes }\nrouting: scheduler\n").find("it must be a map, such as"),
            std::string::npos);
}

TEST(RoutingSection, FaultsOfAStructAreFoundToo) {
  GroupConfig config = load("group: g\nstore: { type: kubernetes }\n").value();
  config.routing.pod = "a";
  const OptionFaults faults = faultsOf(config);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].field, "routing.selector");
}

}  // namespace
}  // namespace tenure

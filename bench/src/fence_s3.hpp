// An object that is written again and again, on an S3 of this machine: with the fence, and by the bare request.
#pragma once

#include <memory>
#include <string>

#include <tenure/lockcore/fence.hpp>

namespace tenure::bench {

class S3Writes {
 public:
  S3Writes(const std::string& endpoint, TermStamp stamp);
  ~S3Writes();
  S3Writes(const S3Writes&) = delete;
  S3Writes& operator=(const S3Writes&) = delete;

  void bare();
  void fenced();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenure::bench

# The formula of Homebrew, built from the sources; OWNER and the checksum are filled in by packaging/fill-in.
class Zarrcast < Formula
  desc "Inspect, validate and transcode Zarr arrays; quantise floats"
  homepage "https://github.com/OWNER/zarrcast"
  url "https://github.com/OWNER/zarrcast/releases/download/vVERSION/zarrcast-VERSION.tar.gz"
  sha256 "SHA256"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on "rust" => :build

  def install
    system "cargo", "install", *std_cargo_args

    bash_completion.install "completions/zarrcast.bash" => "zarrcast"
    fish_completion.install "completions/zarrcast.fish"
    zsh_completion.install "completions/_zarrcast"
    man1.install Dir["completions/*.1"]
  end

  test do
    (testpath/"four.raw").binwrite [1.0, 1.5, 2.0, 2.5].pack("e*")
    array = %w[--data-type float32 --shape 4]
    system bin/"zarrcast", "apply-codec", "--codecs", "bytes,zstd:3", *array, "four.raw", "four.zst"
    system bin/"zarrcast", "apply-codec", "--codecs", "bytes,zstd:3", "--decode", *array, "four.zst", "again.raw"
    assert_equal (testpath/"four.raw").binread, (testpath/"again.raw").binread
    assert_match version.to_s, shell_output("#{bin}/zarrcast --version")
  end
end

"""An object store on loopback: `moto` in server mode, read by the real `s3fs`."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import boto3
from moto.server import ThreadedMotoServer

KEY = "TheKeyOfTheTests"
SECRET = "TheSecretKeyOfTheTests"


class ObjectStore:
    """A store with buckets, at `address`."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.client = boto3.client("s3", **self._options())

    def _options(self) -> dict[str, str]:
        return {
            "endpoint_url": self.address,
            "aws_access_key_id": KEY,
            "aws_secret_access_key": SECRET,
            "region_name": "us-east-1",
        }

    def put(self, bucket: str, files: Mapping[str, bytes]) -> None:
        """Store files by name in a bucket, which is made where it is not there."""
        self.client.create_bucket(Bucket=bucket)
        for name, body in files.items():
            self.client.put_object(Bucket=bucket, Key=name, Body=body)

    def environment(self, **changes: str) -> dict[str, str]:
        """The variables of a process that is to read this store."""
        return {
            "AWS_ENDPOINT_URL": self.address,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": "/nonexistent",
            "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
        } | changes


@contextmanager
def local_objects() -> Iterator[ObjectStore]:
    """A store at work, in a thread; it prints nothing."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    try:
        yield ObjectStore(f"http://{host}:{port}")
    finally:
        server.stop()
